#include "rill.h"

#include <math.h>

void rill_start(rill *r)
{
    *r = (rill){.low = INFINITY, .high = -INFINITY};
}

/* Welford's update: stable where a sum of squares would cancel. */
void rill_push(rill *r, double x)
{
    double before = x - r->mean;

    r->count += 1;
    r->mean += before / (double)r->count;
    r->spread += before * (x - r->mean);
    if (x < r->low)
        r->low = x;
    if (x > r->high)
        r->high = x;
}

/* Chan's update for two summaries. */
void rill_merge(rill *r, const rill *other)
{
    double apart = other->mean - r->mean;
    double mine = (double)r->count;
    double theirs = (double)other->count;

    if (other->count == 0)
        return;
    r->count += other->count;
    r->mean += apart * (theirs / (mine + theirs));
    r->spread += other->spread + apart * apart * (mine * theirs / (mine + theirs));
    if (other->low < r->low)
        r->low = other->low;
    if (other->high > r->high)
        r->high = other->high;
}

double rill_variance(const rill *r)
{
    if (r->count < 2)
        return NAN;
    return r->spread / (double)(r->count - 1);
}
