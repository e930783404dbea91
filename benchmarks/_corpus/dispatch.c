/* A small machine: a dense switch, indirect calls, and variable arguments. */
#include <stdarg.h>
#include <stdio.h>

typedef long (*operation)(long, long);

static long add(long a, long b) { return a + b; }
static long subtract(long a, long b) { return a - b; }
operation operations[2] = {add, subtract};
extern int verbose;

long execute(const unsigned char *code, long *stack)
{
    long *top = stack;
    for (;;)
        switch (*code++) {
        case 0: return *top;
        case 1: *++top = (signed char)*code++; break;
        case 2: top--, *top += top[1]; break;
        case 3: top--, *top -= top[1]; break;
        case 4: top--, *top *= top[1]; break;
        case 5: top--, *top /= top[1] ? top[1] : 1; break;
        case 6: *top = -*top; break;
        case 7: *top = ~*top; break;
        case 8: top--, *top <<= top[1] & 63; break;
        case 9: top--, *top = *top < top[1]; break;
        case 10: top++, *top = top[-1]; break;
        case 11: if (*top--) code += *code; else code++; break;
        case 12: top--, *top = operations[*code++ & 1](*top, top[1]); break;
        default:
            if (verbose)
                printf("%d at %p is no code\n", code[-1], (const void *)code);
            return -1;
        }
}

int sum_of(int n, ...)
{
    va_list given;
    int sum = 0;
    va_start(given, n);
    while (n--)
        sum += va_arg(given, int) + (int)va_arg(given, double);
    va_end(given);
    return sum;
}
