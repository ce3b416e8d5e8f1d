"""Reports (contract §5): each has its own facts and is computed from them on request."""

from projections.reports.catalogue import PROJECTIONS, REPORTS, Report, ReportAnswer, find, folded, report
from projections.reports.ledger import Filters, ReportRow

__all__ = ["PROJECTIONS", "REPORTS", "Filters", "Report", "ReportAnswer", "ReportRow", "find", "folded", "report"]
