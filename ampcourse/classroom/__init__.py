"""A class of hundreds: release, collect, grade, give feedback, export.

The words are nbgrader's. `release` writes what learners get; `collection` finds what they
handed in; `grading` marks it with `workers` and keeps a `record` each in a `store`;
`student_page` and `class_page` tell what was found; the export modules hand the marks on.
"""

from ampcourse.classroom.notebook_format import import_nbformat

import_nbformat()
