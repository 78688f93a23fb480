package io.rillkit;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;

/** Picks the native library of this machine out of the JAR. */
final class Natives {
    private Natives() {}

    static void load() {
        String entry = "/natives/" + platform() + "/librillkit.so";
        try (InputStream library = Natives.class.getResourceAsStream(entry)) {
            if (library == null) {
                throw new UnsatisfiedLinkError("cannot load " + entry + ": this JAR has no native library for " + platform());
            }
            Path file = Files.createTempFile("librillkit", ".so");
            try {
                Files.copy(library, file, StandardCopyOption.REPLACE_EXISTING);
                System.load(file.toString());
            } finally {
                Files.delete(file); // The library stays mapped.
            }
        } catch (IOException e) {
            throw new UnsatisfiedLinkError("cannot unpack " + entry + ": " + e.getMessage());
        }
    }

    /** The platform's name as the build has it: linux-x86_64. */
    static String platform() {
        String arch = System.getProperty("os.arch");
        return System.getProperty("os.name").toLowerCase(Locale.ROOT) + "-" + (arch.equals("amd64") ? "x86_64" : arch);
    }
}
