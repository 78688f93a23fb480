package io.rillkit;

/** A running summary of a stream of numbers: five values, whatever the stream's length. The C core does the work. */
public final class Rill {
    static {
        Natives.load();
    }

    /** The core's five values: count, mean, spread, low, high. Kept here, so that there is nothing to free. */
    private final double[] state = new double[5];

    public Rill(double... numbers) {
        start(state);
        push(numbers);
    }

    public void push(double... numbers) {
        push(state, numbers);
    }

    /** Makes this the summary of both streams, as if one had followed the other. */
    public void merge(Rill other) {
        merge(state, other.state);
    }

    public long count() {
        return (long) state[0];
    }

    public double mean() {
        return state[1];
    }

    /** The sample variance (n - 1 in the denominator); not a number below two values. */
    public double variance() {
        return variance(state);
    }

    public double low() {
        return state[3];
    }

    public double high() {
        return state[4];
    }

    private static native void start(double[] state);

    private static native void push(double[] state, double[] numbers);

    private static native void merge(double[] state, double[] other);

    private static native double variance(double[] state);
}
