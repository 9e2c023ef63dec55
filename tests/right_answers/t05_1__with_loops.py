def scaled_backward(x, t, W1, W2, scale):
    hidden, outputs = range(len(W1)), range(len(W2))
    z = [sum(W1[j][k] * x[k] for k in range(len(x))) for j in hidden]
    a = [max(value, 0.0) for value in z]
    y = [sum(W2[i][j] * a[j] for j in hidden) for i in outputs]
    grad_y = [float(to16(scale * (y[i] - t[i]))) for i in outputs]
    grad_z = []
    for j in hidden:
        back = float(to16(sum(W2[i][j] * grad_y[i] for i in outputs)))
        grad_z.append(back if z[j] > 0 else 0.0)
    first = [[float(to16(g * value)) for value in x] for g in grad_z]
    second = [[float(to16(g * value)) for value in a] for g in grad_y]
    return first, second
