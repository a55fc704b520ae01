from kgtrec.collection.queries import build_queries as build_queries
from kgtrec.collection.questions import build_questions as build_questions
from kgtrec.data.queries import Queries as Queries
from kgtrec.data.triples import POLICIES_LIKE as POLICIES_LIKE
from kgtrec.formats.queries import read_queries as read_queries
from kgtrec.formats.queries import write_queries as write_queries
