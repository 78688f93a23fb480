package bucket

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Bucket is a bucket, or the part of one below a prefix. Its methods may be called by many goroutines.
type Bucket struct {
	config Config
	client *s3.Client
}

// Open makes the client of a bucket. It does not talk to the server yet: a service starts while its store is down.
func Open(ctx context.Context, c Config) (*Bucket, error) {
	if c.Bucket == "" {
		return nil, fault.New(fault.Invalid, "cannot open a bucket without a name: expected s3://bucket/prefix")
	}
	if (c.AccessKey == "") != (c.SecretKey == "") {
		return nil, fault.New(fault.Invalid, "cannot open bucket %s: expected an access key and a secret key, found one of them", c.Bucket)
	}
	load := []func(*config.LoadOptions) error{config.WithHTTPClient(c.httpClient())}
	if c.AccessKey != "" {
		load = append(load, config.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(c.AccessKey, c.SecretKey, c.SessionToken)))
	}
	env, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot open bucket %s: cannot read the AWS environment: %w", c.Bucket, err)
	}
	return &Bucket{config: c, client: s3.NewFromConfig(env, c.apply)}, nil
}

// apply sets what makes the client work with every server. Answers are not checked against CRCs: some servers send the
// whole object's with a part of it, and the callers have digests.
func (c Config) apply(o *s3.Options) {
	o.UsePathStyle = c.PathStyle
	o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenSupported
	o.APIOptions = append(o.APIOptions, unsignedPayload)
	o.DisableLogOutputChecksumValidationSkipped = true
	if c.Endpoint != "" {
		o.BaseEndpoint = aws.String(c.Endpoint)
		o.Region = cmp.Or(c.Region, o.Region, "us-east-1")
	}
	if c.Region != "" {
		o.Region = c.Region
	}
}

// unsignedPayload keeps the signature from hashing the bytes once more, which takes as much time as all else of an upload.
// Over https the client does so by itself.
func unsignedPayload(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("UnsignedPayload", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		return next.HandleInitialize(v4.SetPayloadHash(ctx, "UNSIGNED-PAYLOAD"), in)
	}), middleware.Before)
}

func (c Config) httpClient() config.HTTPClient {
	if c.Client != nil {
		return c.Client
	}
	return awshttp.NewBuildableClient().
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = 10 * time.Second }).
		WithTransportOptions(func(t *http.Transport) {
			t.ResponseHeaderTimeout = 5 * time.Minute // putting the parts of a large object together takes long
			t.MaxIdleConnsPerHost = 32
		})
}

func (b *Bucket) key(name string) *string {
	if b.config.Prefix == "" {
		return aws.String(name)
	}
	return aws.String(b.config.Prefix + "/" + name)
}

func (b *Bucket) bucket() *string { return aws.String(b.config.Bucket) }

// URL is the address of an object, or with an empty name of the whole bucket: for people, it cannot be opened.
func (b *Bucket) URL(name string) string {
	u := "s3://" + b.config.Bucket
	for _, part := range []string{b.config.Prefix, name} {
		if part != "" {
			u += "/" + part
		}
	}
	return u
}
