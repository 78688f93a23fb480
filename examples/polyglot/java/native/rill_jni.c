/* The C core for io.rillkit.Rill, which keeps a rill as five doubles. */
#include <jni.h>

#include "io_rillkit_Rill.h"
#include "rill.h"

static rill read_state(JNIEnv *env, jdoubleArray state)
{
    jdouble v[5] = {0};

    (*env)->GetDoubleArrayRegion(env, state, 0, 5, v);
    return (rill){.count = (int64_t)v[0], .mean = v[1], .spread = v[2], .low = v[3], .high = v[4]};
}

static void write_state(JNIEnv *env, jdoubleArray state, const rill *r)
{
    jdouble v[5] = {(jdouble)r->count, r->mean, r->spread, r->low, r->high};

    (*env)->SetDoubleArrayRegion(env, state, 0, 5, v);
}

JNIEXPORT void JNICALL Java_io_rillkit_Rill_start(JNIEnv *env, jclass class, jdoubleArray state)
{
    rill r;

    (void)class;
    rill_start(&r);
    write_state(env, state, &r);
}

JNIEXPORT void JNICALL Java_io_rillkit_Rill_push(JNIEnv *env, jclass class, jdoubleArray state, jdoubleArray numbers)
{
    rill r = read_state(env, state);
    jsize length = (*env)->GetArrayLength(env, numbers);
    jdouble *values = (*env)->GetDoubleArrayElements(env, numbers, NULL);

    (void)class;
    if (values == NULL)
        return; /* An OutOfMemoryError is pending. */
    for (jsize i = 0; i < length; i++)
        rill_push(&r, values[i]);
    (*env)->ReleaseDoubleArrayElements(env, numbers, values, JNI_ABORT);
    write_state(env, state, &r);
}

JNIEXPORT void JNICALL Java_io_rillkit_Rill_merge(JNIEnv *env, jclass class, jdoubleArray state, jdoubleArray other)
{
    rill r = read_state(env, state);
    rill theirs = read_state(env, other);

    (void)class;
    rill_merge(&r, &theirs);
    write_state(env, state, &r);
}

JNIEXPORT jdouble JNICALL Java_io_rillkit_Rill_variance(JNIEnv *env, jclass class, jdoubleArray state)
{
    rill r = read_state(env, state);

    (void)class;
    return rill_variance(&r);
}
