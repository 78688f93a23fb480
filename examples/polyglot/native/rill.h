/* A rill is a running summary of a stream of numbers: five values, whatever the stream's length.
 *
 * This core is compiled three times: into the Python extension, into the JNI library and into the command `rill`. */
#ifndef RILL_H
#define RILL_H

#include <stdint.h>

typedef struct {
    int64_t count;
    double mean;
    double spread; /* sum of the squared distances from the mean */
    double low;    /* +inf while the rill is empty */
    double high;   /* -inf while the rill is empty */
} rill;

void rill_start(rill *r);
void rill_push(rill *r, double x);

/* Makes r the summary of both streams, as if one had followed the other. */
void rill_merge(rill *r, const rill *other);

/* The sample variance (n - 1 in the denominator); not a number below two values. */
double rill_variance(const rill *r);

#endif
