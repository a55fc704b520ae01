from kgtrec.alignment.align import align as align
from kgtrec.alignment.align import alignment_collection as alignment_collection
from kgtrec.alignment.by_size import study_alignment as study_alignment
from kgtrec.data.alignments import Alignments as Alignments
from kgtrec.data.alignments import EntityVectors as EntityVectors
from kgtrec.formats.alignment import read_alignment_system as read_alignment_system
from kgtrec.formats.alignment import read_pairs as read_pairs
