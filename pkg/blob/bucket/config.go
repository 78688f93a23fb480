package bucket

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Config says which bucket, where, and as whom.
type Config struct {
	Bucket    string
	Prefix    string // of every name; may be empty
	Endpoint  string // "https://s3.example.com"; empty means AWS
	Region    string // empty means the environment's, or "us-east-1" if an endpoint is given
	PathStyle bool   // the bucket is in the path and not in the host name

	// AccessKey and SecretKey are the credentials; if empty, those of the usual AWS environment and files are used.
	AccessKey, SecretKey, SessionToken string

	Client *http.Client // nil means one with time-outs for dialling and for the first byte of an answer
}

// ParseURL reads s3://bucket/prefix?endpoint=…&region=…&path_style=true. Credentials in a URL are refused: URLs are
// printed, logged and listed by ps.
func ParseURL(raw string) (Config, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return Config{}, fault.New(fault.Invalid, "cannot read the URL of a bucket: %w", withoutURL(err))
	}
	if u.User != nil {
		return Config{}, fault.New(fault.Invalid, "cannot use a bucket's URL with credentials in it: give them in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	if u.Scheme != "s3" || u.Host == "" || u.Fragment != "" {
		return Config{}, fault.New(fault.Invalid, "cannot read %q as the URL of a bucket: expected s3://bucket/prefix?endpoint=…&region=…&path_style=true", raw)
	}
	c := Config{Bucket: u.Host, Prefix: strings.TrimSuffix(strings.TrimPrefix(u.Path, "/"), "/")}
	if c.Prefix != "" {
		if err := CheckName(c.Prefix); err != nil {
			return Config{}, err
		}
	}
	for name, values := range u.Query() {
		if err := c.set(name, values[len(values)-1]); err != nil {
			return Config{}, err
		}
	}
	return c, nil
}

// withoutURL takes the URL, which may hold a password, out of the error that quotes it.
func withoutURL(err error) error {
	if e, ok := err.(*url.Error); ok { //nolint:errorlint // url.Parse returns it bare.
		return e.Err
	}
	return err
}

func (c *Config) set(name, value string) (err error) {
	switch name {
	case "endpoint":
		u, parseErr := url.Parse(value)
		if parseErr != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
			return fault.New(fault.Invalid, "cannot use the endpoint of bucket %s: expected http://host:port or https://host", c.Bucket)
		}
		c.Endpoint = strings.TrimSuffix(value, "/")
	case "region":
		c.Region = value
	case "path_style":
		if c.PathStyle, err = strconv.ParseBool(value); err != nil {
			return fault.New(fault.Invalid, "cannot use path_style=%q of bucket %s: expected true or false", value, c.Bucket)
		}
	default:
		return fault.New(fault.Invalid, "cannot use %q in the URL of bucket %s: expected endpoint, region or path_style", name, c.Bucket)
	}
	return nil
}
