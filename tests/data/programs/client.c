// A verifier that answers an audit through a pipe: cc -O2 client.c -o client; with -DBUG it corrects from p.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char line[1 << 20];
// The numbers of a field, nested lists one after the other; their count, -1 where there is no such field.
static int numbers(const char *name, double *to) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\": ", name);
    char *at = strstr(line, key);
    if (!at) return -1;
    int depth = 0, count = 0;
    for (at += strlen(key); *at;) {
        if (*at == '[') depth++, at++;
        else if (*at == ']') { depth--, at++; if (depth <= 0) break; }
        else if (*at == ',' || *at == ' ') { if (depth == 0) break; at++; }
        else if (*at == '}') break;
        else to[count++] = strtod(at, &at);
    }
    return count;
}

static double own(void) { return rand() / (RAND_MAX + 1.0); }
static int pick(const double *row, int size, double number) {
    int last = 0;
    for (int token = 0; token < size; token++) {
        if (row[token] <= 0) continue;
        if (number < row[token]) return token;
        number -= row[token], last = token;
    }
    return last;
}

int main(void) {
    static double id[1], tokens[64], q[4096], p[4096], uniforms[64], final[1], left[64];
    while (fgets(line, sizeof line, stdin)) {
        numbers("id", id);
        int drafted = numbers("tokens", tokens), size = numbers("p", p) / (drafted + 1), accepted = 0;
        numbers("q", q);
        if (numbers("uniforms", uniforms) < 0) for (int i = 0; i < drafted; i++) uniforms[i] = own();
        if (numbers("final_uniform", final) < 0) final[0] = own();
        for (; accepted < drafted; accepted++) {
            int at = accepted * size + (int)tokens[accepted];
            if (uniforms[accepted] >= p[at] / q[at]) break;
        }
        double total = 0;
        for (int token = 0; token < size; token++) {
            left[token] = p[accepted * size + token];
#ifndef BUG
            if (accepted < drafted) left[token] -= q[accepted * size + token];
#endif
            total += left[token] = left[token] > 0 ? left[token] : 0;
        }
        printf("{\"id\": %.0f, \"tokens\": [", id[0]);
        for (int i = 0; i < accepted; i++) printf("%d, ", (int)tokens[i]);
        printf("%d]}\n", pick(left, size, final[0] * total));
        fflush(stdout);
    }
}
