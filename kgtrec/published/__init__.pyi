from kgtrec.data.scores import PublishedTable as PublishedTable
from kgtrec.data.scores import PublishedValue as PublishedValue
from kgtrec.formats.published_tables import read_published_table as read_published_table
from kgtrec.published.check_paper import PaperCheck as PaperCheck
from kgtrec.published.check_paper import check_paper as check_paper
from kgtrec.published.findings import MeanBounds as MeanBounds
from kgtrec.published.findings import PaperFinding as PaperFinding
