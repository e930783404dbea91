/* Rounds in the manner of cryptographic hashes and ciphers: rotations, additions, byte orders. */
#include <stdint.h>
#include <string.h>

static uint32_t left(uint32_t x, int n) { return x << n | x >> (32 - n); }
static uint32_t right(uint32_t x, int n) { return x >> n | x << (32 - n); }

void compress(uint32_t state[8], const uint8_t block[64], const uint32_t keys[64])
{
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++) {
        memcpy(&w[i], block + 4 * i, 4);
        w[i] = __builtin_bswap32(w[i]);
    }
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (right(a, 7) ^ right(a, 18) ^ a >> 3) + w[i - 7] + (right(b, 17) ^ right(b, 19) ^ b >> 10);
    }
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t t = s[7] + (right(s[4], 6) ^ right(s[4], 11) ^ right(s[4], 25));
        t += ((s[4] & s[5]) ^ (~s[4] & s[6])) + keys[i] + w[i];
        uint32_t u = (right(s[0], 2) ^ right(s[0], 13) ^ right(s[0], 22));
        u += (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t;
        s[0] = t + u;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

void quarters(uint32_t x[16], int rounds)
{
    while (rounds--)
        for (int i = 0; i < 4; i++) {
            x[i] += x[i + 4], x[i + 12] = left(x[i + 12] ^ x[i], 16);
            x[i + 8] += x[i + 12], x[i + 4] = left(x[i + 4] ^ x[i + 8], 12);
            x[i] += x[i + 4], x[i + 12] = left(x[i + 12] ^ x[i], 8);
            x[i + 8] += x[i + 12], x[i + 4] = left(x[i + 4] ^ x[i + 8], 7);
        }
}
