package bucket

import (
	"context"
	"errors"
	"io/fs"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/sluiceci/sluice/pkg/fault"
)

// fail gives an error of the client a kind, and says what was tried.
func (b *Bucket) fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if missing(err) {
		return fault.New(fault.Invalid, "cannot %s %s: %w (%w)", op, b.URL(name), fs.ErrNotExist, err)
	}
	return fault.New(kindOf(err), "cannot %s %s: %w", op, b.URL(name), err)
}

// missing reports an object that is not there. A bucket that is not there is another matter: it is a mistake in the
// configuration, or not made yet.
func missing(err error) bool {
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "NoSuchBucket" {
		return false
	}
	return status(err) == 404
}

func status(err error) int {
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}

// kindOf goes by the status; a request that got no answer may get one later.
func kindOf(err error) fault.Kind {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fault.Transient
	}
	switch code := status(err); {
	case code == 409 && retriable(err):
		return fault.Transient
	case code == 409, code == 412:
		return fault.Conflict
	case code == 401, code == 403:
		return fault.Denied
	case code == 404, code == 408, code == 429, code == 0:
		return fault.Transient
	case code >= 400 && code < 500, code == 501:
		return fault.Invalid
	default:
		return fault.Transient
	}
}

// retriable tells the 409 of two writers who met from the 409 of a name that can never be.
func retriable(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && (api.ErrorCode() == "ConditionalRequestConflict" || api.ErrorCode() == "OperationAborted")
}
