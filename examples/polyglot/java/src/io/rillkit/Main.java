package io.rillkit;

import java.nio.file.Path;
import java.util.Scanner;
import java.util.jar.Attributes;
import java.util.jar.JarFile;

/** The command: reads numbers from standard input, prints their summary. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        if (args.length == 1 && args[0].equals("--version")) {
            System.out.println(version());
            return;
        }
        Rill rill = new Rill();
        for (Scanner words = new Scanner(System.in); words.hasNext(); ) {
            rill.push(Double.parseDouble(words.next()));
        }
        System.out.printf("count %d%nmean %s%nvariance %s%n", rill.count(), rill.mean(), rill.variance());
        System.out.printf("low %s%nhigh %s%n", rill.low(), rill.high());
    }

    private static String version() throws Exception {
        Path jar = Path.of(Main.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        try (JarFile file = new JarFile(jar.toFile())) {
            Attributes about = file.getManifest().getMainAttributes();
            return String.join(" ", "rillkit", about.getValue("Implementation-Version"),
                    about.getValue("Implementation-Commit"), "(" + Natives.platform() + ")");
        }
    }
}
