/* Counting: histograms of bytes, with one and with four tables, and the median found from one. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void histogram(const uint8_t *data, size_t n, uint32_t counts[256])
{
    for (size_t i = 0; i < n; i++)
        counts[data[i]]++;
}

void histogram_4(const uint8_t *data, size_t n, uint32_t counts[256])
{
    static uint32_t parts[4][256];
    memset(parts, 0, sizeof parts);
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            parts[k][data[i + k]]++;
    for (; i < n; i++)
        parts[0][data[i]]++;
    for (int v = 0; v < 256; v++)
        counts[v] += parts[0][v] + parts[1][v] + parts[2][v] + parts[3][v];
}

int median(const uint32_t counts[256], uint32_t n)
{
    uint32_t seen = 0;
    for (int v = 0; v < 256; v++)
        if ((seen += counts[v]) * 2 >= n)
            return v;
    return -1;
}
