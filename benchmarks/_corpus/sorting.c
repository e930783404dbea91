/* Sorting by insertion, by heaps and by parts. */
void insertion(int *x, int n)
{
    for (int i = 1; i < n; i++) {
        int v = x[i], j = i;
        for (; j > 0 && x[j - 1] > v; j--)
            x[j] = x[j - 1];
        x[j] = v;
    }
}

static void sink(double *x, int at, int n)
{
    for (int child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && x[child + 1] > x[child])
            child++;
        if (x[at] >= x[child])
            return;
        double t = x[at];
        x[at] = x[child];
        x[child] = t;
    }
}

void heap(double *x, int n)
{
    for (int i = n / 2; i-- > 0;)
        sink(x, i, n);
    for (int i = n; i-- > 1;) {
        double t = x[0];
        x[0] = x[i];
        x[i] = t;
        sink(x, 0, i);
    }
}

void quick(long *x, long n)
{
    while (n > 1) {
        long pivot = x[n / 2], i = 0, j = n - 1;
        while (i <= j) {
            while (x[i] < pivot)
                i++;
            while (x[j] > pivot)
                j--;
            if (i <= j) {
                long t = x[i];
                x[i++] = x[j];
                x[j--] = t;
            }
        }
        quick(x, j + 1);
        x += i;
        n -= i;
    }
}
