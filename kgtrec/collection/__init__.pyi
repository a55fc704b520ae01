from kgtrec.collection.questions import build_questions as build_questions
