"""Campaigns in which people judge a pool, which gives qrels."""

from __future__ import annotations

from kgtrec.data.lazy import offer

__all__ = offer(
    __name__,
    {
        "formats.campaign.pools": ("read_pool", "write_pool"),
        "formats.campaign.folder": ("read_campaign", "write_people", "write_assignments"),
        "formats.campaign.kgc_sparsity": ("read_kgc_sparsity",),
        "campaign.assign": ("assign",),
        "campaign.tasks": ("phrase", "tasks_for", "tasks_for_adjudicator"),
        "formats.campaign.filled_tasks": ("read_tasks",),
        "formats.campaign.tasks": ("write_tasks",),
        "formats.campaign.label_studio": ("read_label_studio", "write_label_studio"),
        "campaign.accept": ("accept", "Accepted", "RefusedError"),
        "campaign.verdict_rules": ("Refusal",),
        "campaign.store": ("OpenCampaign",),
        "formats.campaign.judgements": ("read_judgements",),
        "campaign.decide": ("decide", "decisions_of"),
        "campaign.track": ("track", "CampaignProgress"),
        "campaign.agreement": ("annotator_agreement", "AgreementReport"),
        "campaign.annotator_errors": ("annotator_errors", "AnnotatorErrors"),
        "campaign.calibrate": ("calibration", "Calibration"),
        "campaign.gold": ("draw_gold",),
        "formats.campaign.gold": ("read_gold", "write_gold"),
        "campaign.expert_sample": ("draw_sample", "sample_report"),
        "campaign.qrels": ("question_level", "triple_level", "with_judgements", "report_qrels", "QrelsReport"),
        "campaign.diagnostics": ("diagnose", "Diagnostics"),
        "campaign.sampled": ("sampled_qrels",),
        "campaign.plan": ("plan", "SamplePlan"),
        "campaign.rounds": ("draw_round",),
        "campaign.learn": ("learn", "Learned", "LearnedReport"),
        "campaign.machine_report": ("machine_report", "MachineReport"),
        "campaign.predict": ("predict", "Prediction"),
        "campaign.machines": ("take_in_machine", "with_machine"),
        "formats.campaign.machines": ("machines_in", "read_machine", "write_machine"),
        "data.machines": ("MachineVerdicts",),
        "campaign.estimates": ("estimate_positives", "estimate_ap"),
        "data.campaign": ("Assignments", "Automatic", "Campaign", "ExpertSample", "People", "SampleReport"),
        "data.judgements": ("Decisions", "Gold", "Incoming", "Judgements", "Tasks"),
    },
)
