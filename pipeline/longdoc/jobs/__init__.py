"""Jobs over a corpus: killed at any moment, started again, and every document answered exactly once."""

from longdoc.jobs.export import export_job
from longdoc.jobs.plan import JobConfig, JobPlan, plan_job
from longdoc.jobs.runner import JobReport, Progress, run_job
from longdoc.jobs.verify import VerifyReport, verify_job

__all__ = [
    "JobConfig",
    "JobPlan",
    "JobReport",
    "Progress",
    "VerifyReport",
    "export_job",
    "plan_job",
    "run_job",
    "verify_job",
]
