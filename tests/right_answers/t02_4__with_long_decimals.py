def witness(code):
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 60
        middle = (Decimal(value(code)) + Decimal(value(code + 1))) / 2
        nudge = middle.scaleb(-20)
        return str(middle - nudge if code % 2 else middle + nudge)
