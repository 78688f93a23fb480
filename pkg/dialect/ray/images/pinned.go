package images

import (
	"regexp"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

var pythonSegment = regexp.MustCompile(`(?:^|-)(py\d+)(?:-|$)`)

// Shape is an image's name with its version left out, by which an image that somebody pins is matched to the tests that
// would run in it: "repo:pr-1.abc-py310-cpu" is "repo:<id>-py310-cpu".
func Shape(uri string) (string, error) {
	slash := strings.LastIndexByte(uri, '/')
	at := strings.IndexByte(uri[slash+1:], ':')
	if at < 0 || slash+1+at+1 == len(uri) {
		return "", fault.New(fault.Invalid, "cannot tell the shape of image %q: missing ':<tag>'", uri)
	}
	repo, tag := uri[:slash+1+at], uri[slash+1+at+1:]
	m := pythonSegment.FindStringSubmatchIndex(tag)
	if m == nil {
		return repo + ":<id>", nil
	}
	return repo + ":<id>-" + tag[m[2]:], nil
}

// Pin gives each test the image that somebody pinned for its shape. All that cannot be matched is told at once.
func Pin(pinned []string, wanted map[string]string) (map[string]string, error) {
	byShape := map[string]string{}
	var wrong []string
	for _, uri := range pinned {
		shape, err := Shape(uri)
		switch {
		case err != nil:
			wrong = append(wrong, err.Error())
		case byShape[shape] != "":
			wrong = append(wrong, uri+" and "+byShape[shape]+" are both "+shape)
		default:
			byShape[shape] = uri
		}
	}
	out, used := match(byShape, wanted)
	for _, uri := range pinned {
		if shape, err := Shape(uri); err == nil && !used[shape] {
			wrong = append(wrong, uri+" is of no test: none runs in "+shape)
		}
	}
	if len(pinned) == 0 {
		wrong = append(wrong, "no image is named")
	}
	if len(wrong) > 0 {
		return nil, fault.New(fault.Invalid, "cannot pin images: %s", strings.Join(wrong, "; "))
	}
	return out, nil
}

// match finds the tests whose image has a pinned shape.
func match(byShape, wanted map[string]string) (out map[string]string, used map[string]bool) {
	out, used = map[string]string{}, map[string]bool{}
	for test, image := range wanted {
		shape, err := Shape(image)
		if uri, ok := byShape[shape]; err == nil && ok {
			out[test], used[shape] = uri, true
		}
	}
	return out, used
}
