from kgtrec.study.config import Study as Study
from kgtrec.study.folder import read_study as read_study
from kgtrec.study.report import study_report as study_report
from kgtrec.study.run import run_study as run_study
