"""The README of a release: how to begin, which lessons there are, help, licences."""

import re

from ampcourse.courseware.course import Course

START = """\
# ampcourse

**Mixed-precision training, from the bits of a float to a full ResNet50 run.**

Lessons in JupyterLab. What a lesson claims, it computes in front of you; what a library hides, you
first build yourself. Every task tells you at once whether your answer is right, and if not, why.

## Start

You need Python 3.11 or newer and this folder, nothing else. In it:

```
python3 -m ampcourse lab
```

On Windows write `py -m ampcourse lab`. The first time it makes a `.venv` in this folder and
installs what the course needs, which can take a while; later starts take seconds.

## Lessons

{lessons}

Each says its own time at the start. Write your answers into the cells that say
`raise NotImplementedError`, run them, then run the check cell below. What the checks show are
examples: grading tries other inputs too, so write the rule and not a table. Passing every visible
check is a good sign and no guarantee; the same holds for **Validate** in JupyterLab, and for

```
python3 -m ampcourse check notebooks/{first}.ipynb
```

which runs a notebook from the shell. Hand in the notebook under its own name.
"""
KEPT = ("When something goes wrong", "Licences")


def learner_readme(course: Course, slugs: list[str]) -> str:
    """Return the text, with the sections of the course's README that learners need."""
    lines = [f"- [{slug}](notebooks/{slug}.ipynb): {course.lesson(slug).title}" for slug in slugs]
    text = START.format(lessons="\n".join(lines), first=slugs[0])
    path = course.root / "README.md"
    readme = path.read_text("utf-8") if path.is_file() else ""
    parts = re.split(r"^(?=## )", readme, flags=re.MULTILINE)
    kept = [part.strip() for part in parts if part[3:].partition("\n")[0].strip() in KEPT]
    return "\n\n".join([text.rstrip(), *kept]) + "\n"
