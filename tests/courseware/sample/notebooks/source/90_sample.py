# %% [markdown]
r"""
# A lesson for tests
Its tasks are as small as tasks can be.
"""

# %% tags=["setup"]
from ampcourse.courseware import check, inf, raises, task

# %%
from fractions import Fraction

demonstration = Fraction(84, 2)
print(demonstration)

# %% [markdown]
r"""
### t90_1 · Add one
Return `x` plus one.
"""


# %% task="t90_1" forbids=["colorsys"]
def add_one(x):
    """Return x + 1."""
    ### BEGIN SOLUTION
    return x + 1
    ### END SOLUTION


# %% check="t90_1" points=2
with task("t90_1"):
    check("add_one(1)", 2, "one more than x", traps={"that is one less": 0})
    check("add_one(inf)", inf, "infinity plus one is infinity")
    ### BEGIN HIDDEN TESTS
    for x in (5, 7, -1):
        check(f"add_one({x})", x + 1, "one more than x", traps={"that is one less": x - 1})
    check("add_one(-inf)", -inf, "infinity plus one is infinity")
    ### END HIDDEN TESTS

# %% [markdown]
r"""
### t90_2 · Refuse text
Return the text of a number; raise ValueError for anything that is no int.
"""


# %% task="t90_2"
def text_of(x):
    """Return str(x) for an int."""
    ### BEGIN SOLUTION
    if type(x) is not int:
        raise ValueError(f"{x!r} is no int")
    return str(x)
    ### END SOLUTION


# %% check="t90_2" points=3
with task("t90_2"):
    check("text_of(12)", "12", "the digits as a string")
    check("text_of('12')", raises(ValueError), "text is no int")
    check(
        """
        values = [text_of(k) for k in range(3)]
        return values
        """,
        ["0", "1", "2"],
        "the digits as a string",
    )
    ### BEGIN HIDDEN TESTS
    check("text_of(345)", "345", "the digits as a string")
    check("text_of(1.5)", raises(ValueError), "text is no int")
    ### END HIDDEN TESTS
