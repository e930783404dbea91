/* Pictures: grey values, a blur, thresholds, saturation. */
#include <stdint.h>
#include <stdlib.h>

void grey(const uint8_t *rgb, uint8_t *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = (uint8_t)((77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2]) >> 8);
}

void blur(const uint16_t *in, uint16_t *out, int width, int height)
{
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++) {
            uint32_t sum = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    sum += in[(y + dy) * width + x + dx];
            out[y * width + x] = (uint16_t)(sum / 9);
        }
}

void brighten(uint8_t *x, int by, int n)
{
    for (int i = 0; i < n; i++) {
        int v = x[i] + by;
        x[i] = v > 255 ? 255 : (uint8_t)v;
    }
}

unsigned differences(const uint8_t *a, const uint8_t *b, int n)
{
    unsigned sum = 0;
    for (int i = 0; i < n; i++)
        sum += (unsigned)abs(a[i] - b[i]);
    return sum;
}

void choose(const int8_t *mask, const float *a, const float *b, float *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = mask[i] > 0 ? a[i] : b[i];
}
