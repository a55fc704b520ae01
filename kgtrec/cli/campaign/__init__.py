"""Have a pool judged by people, and get qrels back: a campaign is a folder of plain files, which kgtrec pool begins
and these commands fill.

\b
# names, people and guidelines
kgtrec campaign init CAMPAIGN --names names.tsv --annotator ann --annotator bob
# the triples of each annotator
kgtrec campaign assign CAMPAIGN
# the page where they judge
kgtrec campaign serve CAMPAIGN
# the labels
kgtrec campaign qrels CAMPAIGN --out qrels

Docs: docs/campaigns.md
"""

from kgtrec.cli import LazyGroup

command = LazyGroup(
    "campaign",
    package=__name__,
    help=__doc__,
    commands_of={
        "init": "Add to a pool what annotators need: guidelines, templates, sources, people.",
        "status": "Show campaign progress.",
        "assign": "Assign the triples to the annotators.",
        "export": "Write tasks for a browser, a spreadsheet, a program or Label Studio.",
        "import": "Import verdicts, each one checked.",
        "serve": "Serve the annotation page in a browser.",
        "adjudicate": "List conflicts for a third person, and import the verdicts on them.",
        "agreement": "Measure how far the annotators agree.",
        "sample": "Draw triples for an expert to judge again: how good are the labels?",
        "plan": "Plan how much of a pool people judge.",
        "qrels": "Turn the judgements into qrels, at every pool depth.",
        "diagnostics": "Show what each run contributed, and what would be lost without it.",
        "learn": "Predict verdicts from the runs and the train facts, as one more machine.",
        "machines": "Compare verdicts of machines with those of people.",
        "import-kgc-sparsity": "Import the published labels of Zhou et al. (2022).",
    },
)
