package publisher

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// coordinatesOf asks the target where a file would go.
func coordinatesOf(t *testing.T, options map[string]string, name string, content []byte) (string, error) {
	t.Helper()
	setup := Setup{Options: Options{"directory": t.TempDir(), "packaging": "jar"}, Temp: t.TempDir()}
	for k, v := range options {
		setup.Options[k] = v
	}
	target, err := newMaven(setup)
	check(t, err)
	r := candidate(t, map[string][]byte{name: content})
	r.Items[0].Artifact.Matrix = map[string]string{"platform": "linux-x86_64"}
	at, err := target.(*maven).coordinates(t.Context(), r, r.Items[0])
	return at.path(), err
}

func TestMavenCoordinates(t *testing.T) {
	t.Parallel()
	plain := jar(t, map[string]string{"META-INF/MANIFEST.MF": "Manifest-Version: 1.0\r\n"})
	described := jar(t, map[string]string{"META-INF/maven/org.acme/core/pom.properties": "groupId=org.acme\nartifactId=core\nversion=2.0-beta\n"})
	shaded := jar(t, map[string]string{
		"META-INF/maven/org.acme/core/pom.properties": "groupId=org.acme\nartifactId=core\nversion=2.0\n",
		"META-INF/maven/org.other/x/pom.properties":   "groupId=org.other\nartifactId=x\nversion=9\n",
	})
	manifest := jar(t, map[string]string{"META-INF/MANIFEST.MF": "Implementation-Title: tool\r\nImplementation-Version: 3.1\r\n"})
	pom := []byte(`<project xmlns="http://maven.apache.org/POM/4.0.0"><parent><groupId>org.parent</groupId><version>7</version></parent><artifactId>child</artifactId></project>`)
	group := map[string]string{"group": "org.acme"}
	for name, c := range map[string]struct {
		options map[string]string
		file    string
		content []byte
		want    string // path, or a part of the error after "!"
	}{
		"name":             {group, "demo-1.0.jar", plain, "org/acme/demo/1.0/demo-1.0.jar"},
		"classifier":       {group, "demo-1.0-linux-x86_64.jar", plain, "org/acme/demo/1.0/demo-1.0-linux-x86_64.jar"},
		"sources":          {group, "my-demo-1.0-sources.jar", plain, "org/acme/my-demo/1.0/my-demo-1.0-sources.jar"},
		"known version":    {map[string]string{"group": "g", "artifact": "demo", "version": "1.0-rc-1"}, "demo-1.0-rc-1-arm64.jar", plain, "g/demo/1.0-rc-1/demo-1.0-rc-1-arm64.jar"},
		"renamed":          {map[string]string{"group": "g", "artifact": "demo", "version": "1"}, "whatever.jar", plain, "g/demo/1/demo-1.jar"},
		"words":            {map[string]string{"group": "org.{project}", "artifact": "a", "version": "0.{short_commit}", "classifier": "{platform}"}, "a.jar", plain, "org/demo/a/0.abababab/a-0.abababab-linux-x86_64.jar"},
		"properties":       {nil, "core-2.0-beta-linux.jar", described, "org/acme/core/2.0-beta/core-2.0-beta-linux.jar"},
		"shaded":           {group, "all-2.0.jar", shaded, "org/acme/all/2.0/all-2.0.jar"},
		"manifest":         {group, "tool-3.1.jar", manifest, "org/acme/tool/3.1/tool-3.1.jar"},
		"parent's pom":     {nil, "child.pom", pom, "org/parent/child/7/child-7.pom"},
		"tar":              {group, "demo-1.0-bin.tar.gz", nil, "org/acme/demo/1.0/demo-1.0-bin.tar.gz"},
		"no group":         {nil, "demo-1.0.jar", plain, `!its group is ""`},
		"snapshot":         {group, "demo-1.0-SNAPSHOT.jar", jar(t, map[string]string{"META-INF/MANIFEST.MF": "Implementation-Title: demo\nImplementation-Version: 1.0-SNAPSHOT\n"}), "!is a snapshot"},
		"escape":           {map[string]string{"group": "../etc", "artifact": "a", "version": "1"}, "a.jar", plain, `!its group is "../etc"`},
		"escape in a jar":  {nil, "a-1.jar", jar(t, map[string]string{"META-INF/maven/a/b/pom.properties": "groupId=a\nartifactId=..\nversion=1\n"}), `!its artifact is ".."`},
		"not a jar":        {nil, "a-1.jar", []byte("no zip"), "!as a JAR"},
		"a word without a": {map[string]string{"group": "{nothing}"}, "a-1.jar", plain, "!has no value here"},
	} {
		got, err := coordinatesOf(t, c.options, c.file, c.content)
		if problem, failed := strings.CutPrefix(c.want, "!"); failed {
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: %q, %v, want %q", name, got, err, problem)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

func TestMavenMetadataIsMerged(t *testing.T) {
	t.Parallel()
	w := mavenFolderWorld(t)
	check(t, publish(t, w, candidate(t, w.release(t, "one"))))
	second := candidate(t, map[string][]byte{"demo-1.1.jar": jar(t, map[string]string{"x": "y"})})
	check(t, publish(t, w, second))
	m, err := parseMavenMetadata(contentOf(t, w.dir+"/org/acme/demo/maven-metadata.xml"))
	check(t, err)
	if got := strings.Join(m.Versioning.Versions, " "); got != "1.0 1.1" || m.Versioning.Release != "1.1" || m.GroupID != "org.acme" || m.ArtifactID != "demo" {
		t.Fatalf("%+v", m)
	}
	if b := contentOf(t, w.dir+"/org/acme/demo/1.1/demo-1.1.jar.sha1"); len(b) != 40 {
		t.Fatalf("sha1 is %q: expected 40 digits without a newline", b)
	}
	pom := string(contentOf(t, w.dir+"/org/acme/demo/1.1/demo-1.1.pom"))
	for _, want := range []string{"<groupId>org.acme</groupId>", "<artifactId>demo</artifactId>", "<version>1.1</version>", "<packaging>jar</packaging>", "<modelVersion>4.0.0</modelVersion>"} {
		if !strings.Contains(pom, want) {
			t.Errorf("the POM lacks %s:\n%s", want, pom)
		}
	}
}

func TestSuppliedPOMIsUsed(t *testing.T) {
	t.Parallel()
	w := mavenFolderWorld(t)
	pom := []byte("<project><modelVersion>4.0.0</modelVersion><groupId>org.acme</groupId><artifactId>demo</artifactId><version>1.0</version></project>")
	check(t, publish(t, w, candidate(t, map[string][]byte{"demo.pom": pom, "demo-1.0.jar": jar(t, map[string]string{"x": "y"})})))
	if got := contentOf(t, w.dir+"/org/acme/demo/1.0/demo-1.0.pom"); !bytes.Equal(got, pom) {
		t.Fatalf("the POM is %s", got)
	}
}

func FuzzMavenMetadata(f *testing.F) {
	f.Add([]byte("<metadata><versioning><versions><version>1</version></versions></versioning></metadata>"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMavenMetadata(b)
		if err != nil {
			return
		}
		c := coordinates{Group: "g", Artifact: "a", Version: "99.99"}
		merged, err := m.add(c, time.Unix(1e9, 0))
		if err != nil {
			return
		}
		again, err := parseMavenMetadata(merged)
		if err != nil || !again.lists(c.Version) {
			t.Fatalf("merged %q: %v", merged, err)
		}
		_, _ = fromPOM(b)
	})
}

func FuzzJar(f *testing.F) {
	f.Add([]byte("groupId=a\nartifactId=b\nversion=1"), "demo-1.0-x.jar")
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, err := z.Create("META-INF/maven/a/b/pom.properties")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(text)
		_ = z.Close()
		archive, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		c := fromJar(archive).fromName(name)
		if c.check(name) == nil && (strings.Contains(c.path(), "..") || strings.HasPrefix(c.path(), "/") || strings.ContainsAny(c.path(), "\\ \n\x00")) {
			t.Fatalf("%q leads to %q", name, c.path())
		}
	})
}
