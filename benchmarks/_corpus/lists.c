/* Linked lists and binary trees: loads that wait for each other. */
#include <stddef.h>
#include <stdlib.h>

struct node {
    struct node *next;
    int key;
    short weight;
    unsigned char kind : 3, used : 1;
};

struct tree {
    struct tree *child[2];
    long key;
};

int total(const struct node *n)
{
    int sum = 0;
    for (; n; n = n->next)
        if (n->used && n->kind == 5)
            sum += n->key * n->weight;
    return sum;
}

struct node *reversed(struct node *n)
{
    struct node *done = NULL;
    while (n) {
        struct node *next = n->next;
        n->next = done;
        done = n;
        n = next;
    }
    return done;
}

struct node *pushed(struct node *rest, int key)
{
    struct node *n = malloc(sizeof *n);
    if (!n)
        abort();
    *n = (struct node){.next = rest, .key = key, .weight = -300, .kind = 2, .used = 1};
    return n;
}

struct tree *find(struct tree *t, long key)
{
    while (t && t->key != key)
        t = t->child[key > t->key];
    return t;
}
