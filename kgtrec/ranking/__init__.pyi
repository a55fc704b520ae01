from kgtrec.ranking.rank import rank_scores as rank_scores
from kgtrec.ranking.rank import ranked_blocks as ranked_blocks
from kgtrec.ranking.write import write_ranked as write_ranked
