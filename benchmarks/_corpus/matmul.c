/* Products of matrices: of any size, blocked, and 4 by 4. */
#define BLOCK 32

void multiply(int n, const double *a, const double *b, double *c)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            double f = a[i * n + k];
            for (int j = 0; j < n; j++)
                c[i * n + j] += f * b[k * n + j];
        }
}

void multiply_blocked(int n, const float *a, const float *b, float *c)
{
    for (int i = 0; i < n; i += BLOCK)
        for (int j = 0; j < n; j += BLOCK)
            for (int k = 0; k < n; k += BLOCK)
                for (int y = i; y < i + BLOCK && y < n; y++)
                    for (int x = j; x < j + BLOCK && x < n; x++) {
                        float sum = c[y * n + x];
                        for (int z = k; z < k + BLOCK && z < n; z++)
                            sum += a[y * n + z] * b[z * n + x];
                        c[y * n + x] = sum;
                    }
}

void multiply_4(const float a[4][4], const float b[4][4], float c[4][4])
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            float sum = 0;
            for (int k = 0; k < 4; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}
