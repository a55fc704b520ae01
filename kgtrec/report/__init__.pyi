from kgtrec.data.table import Figure as Figure
from kgtrec.data.table import Report as Report
from kgtrec.data.table import Section as Section
from kgtrec.data.table import Table as Table
from kgtrec.report.files import report_files as report_files
from kgtrec.report.html import to_html as to_html
