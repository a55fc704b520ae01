"""Have a pool judged by people, and get qrels back.

A campaign is a folder of plain files, which kgtrec pool begins and these commands fill. docs/campaigns.md says
what each file holds.

\b
kgtrec pool COLLECTION ranks/*.run.gz --depth 10 --out CAMPAIGN
kgtrec campaign init CAMPAIGN --names names.tsv --annotator ann --annotator bob --adjudicator eve
kgtrec campaign assign CAMPAIGN
kgtrec campaign export CAMPAIGN --annotator ann --out ann.csv
kgtrec campaign import CAMPAIGN ann.csv
kgtrec campaign adjudicate CAMPAIGN --out queue.csv
kgtrec campaign qrels CAMPAIGN --out qrels
"""

from kgtrec.cli import LazyGroup

command = LazyGroup(
    "campaign",
    package=__name__,
    help=__doc__,
    commands_of={
        "init": "Add to a pool what annotators need: guidelines, templates, sources, people.",
        "status": "Show campaign progress.",
        "assign": "Share the triples out among the annotators.",
        "export": "Write tasks for a browser, a spreadsheet, a program or Label Studio.",
        "import": "Take judgements in, each one checked.",
        "serve": "Serve the page where people judge, in a browser.",
        "adjudicate": "List what needs a third person, and take their verdicts in.",
        "agreement": "Measure how far the annotators agree, with each other and with known verdicts.",
        "sample": "Draw triples for an expert to judge again, and estimate how good the labels are.",
        "plan": "Plan how much of a pool people judge: widths of intervals, verdicts and hours.",
        "qrels": "Turn the judgements into qrels, at every pool depth.",
        "diagnostics": "Show what each run brought in, and what would be lost without it.",
        "learn": "Predict verdicts from the runs and the train facts, as one more machine.",
        "machines": "Compare what machines say with what people say, and what their labels would have said.",
        "import-kgc-sparsity": "Take in the published labels of Zhou et al. (2022).",
    },
)
