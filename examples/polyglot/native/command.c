/* The command `rill` of the images: reads numbers from standard input, prints their summary. */
#include "rill.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    rill r;
    double x;

    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return printf("rill %s %s\n", RILL_VERSION, RILL_COMMIT) < 0;
    if (argc != 1) {
        fprintf(stderr, "usage: rill [--version] < numbers\n");
        return 64;
    }
    rill_start(&r);
    while (scanf("%lf", &x) == 1)
        rill_push(&r, x);
    if (!feof(stdin)) {
        fprintf(stderr, "cannot read number %lld of standard input\n", (long long)r.count + 1);
        return 1;
    }
    printf("count %lld\nmean %.17g\nvariance %.17g\nlow %.17g\nhigh %.17g\n", (long long)r.count, r.mean,
           rill_variance(&r), r.low, r.high);
    return 0;
}
