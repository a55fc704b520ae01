from kgtrec.collection.questions import build_questions as build_questions
from kgtrec.data.triples import POLICIES_LIKE as POLICIES_LIKE
