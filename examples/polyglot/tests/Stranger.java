import io.rillkit.Rill;

/** Somebody's program with the JAR on its class path. */
public class Stranger {
    public static void main(String[] args) {
        Rill rill = new Rill(1, 2, 3);
        rill.merge(new Rill(10, 20));
        System.out.printf("%d %s %s%n", rill.count(), rill.low(), rill.high());
        System.out.printf(java.util.Locale.ROOT, "%.1f %.1f%n", rill.mean(), rill.variance());
    }
}
