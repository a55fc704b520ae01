from kgtrec.ranking.rank import Ranked as Ranked
from kgtrec.ranking.rank import rank_scores as rank_scores
from kgtrec.ranking.rank import ranked_blocks as ranked_blocks
from kgtrec.ranking.system import grid_of as grid_of
from kgtrec.ranking.system import rank_model as rank_model
from kgtrec.ranking.system import rank_system as rank_system
from kgtrec.ranking.write import write_ranked as write_ranked
