"""MemoBench's question banks: reading, generating, filtering and auditing them."""

from lookback.benchmarks.memobench.vqa.audit import bank_audit, discrimination_audit, discrimination_summary
from lookback.benchmarks.memobench.vqa.bank import BankQuestion, QuestionFile, parse_bank, read_question_file, read_question_files
from lookback.benchmarks.memobench.vqa.filters import failure_filter, ground_truth_filter

__all__ = [
    "BankQuestion",
    "QuestionFile",
    "bank_audit",
    "discrimination_audit",
    "discrimination_summary",
    "failure_filter",
    "ground_truth_filter",
    "parse_bank",
    "read_question_file",
    "read_question_files",
]
