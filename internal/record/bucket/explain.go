package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"syscall"

	"gocloud.dev/gcerrors"
)

// Hints are the parts of messages that differ between the users of stores. A person who calls sparkctl sets the URL and
// the credentials in other places than the platform team that configures the operator.
type Hints struct {
	Setting string // the option or field that has the store's URL
	AWS     string // how to give credentials for S3
	Google  string // the same for Google Cloud Storage
	Azure   string // the same for Azure
}

// answer is an error response of a store's server. Errors of the AWS SDK implement this interface.
type answer interface {
	error
	ErrorCode() string
	ErrorMessage() string
}

// Answered reports whether an error is a response of a store's server.
func Answered(err error) bool {
	_, ok := errors.AsType[answer](err)
	return ok
}

// wayOut returns advice about an error code of S3; "" if there is none.
func (h Hints) wayOut(code string) string {
	switch code {
	case "NoSuchBucket":
		return "create the bucket, or correct its name in " + h.Setting
	case "InvalidBucketName":
		return "correct the name of the bucket in " + h.Setting
	case "PermanentRedirect", "AuthorizationHeaderMalformed":
		return h.region()
	case "InvalidAccessKeyId", "XAdminUserNotFound", "SignatureDoesNotMatch", "InvalidToken": // the second is of versitygw
		return h.AWS
	case "ExpiredToken":
		return "log in again, or " + h.AWS
	case "XMinioStorageFull", "QuotaExceeded", "InsufficientStorage":
		return "free space in the store, or name another one in " + h.Setting
	case "SlowDown", "RequestLimitExceeded", "ServiceUnavailable":
		return "raise the store's limit of requests, or try again later"
	case "AccessDenied":
		return "ask the owner of the bucket for the rights s3:GetObject, s3:PutObject and s3:DeleteObject, or " + h.AWS
	}
	return ""
}

// region names the places from which the client of S3 reads the region.
func (h Hints) region() string {
	return "set the region of the bucket with ?region=REGION in the URL of " + h.Setting + ", or with AWS_REGION"
}

// Explain converts an error of a store's client into one line for users: the cause, and what to do about it.
func Explain(err error, h Hints) error {
	if found, ok := errors.AsType[answer](err); ok {
		text := found.ErrorCode()
		if message := found.ErrorMessage(); message != "" {
			text += ": " + strings.TrimSuffix(message, ".")
		}

		if out := h.wayOut(found.ErrorCode()); out != "" {
			text += "; " + out
		}
		return &storeError{text: "the store answers " + text, err: err}
	}

	switch text := err.Error(); {
	case errors.Is(err, context.DeadlineExceeded):
		return &storeError{text: fmt.Sprintf("the store does not answer; correct the endpoint in %s, or check the store and the network", h.Setting), err: err}
	case strings.Contains(text, "DefaultAzureCredential: failed to acquire a token"): // followed by a line for each source
		return &storeError{text: "no credentials for Azure; " + h.Azure, err: err}
	case strings.Contains(text, "get credentials") || strings.Contains(text, "refresh cached credentials") || strings.Contains(text, "shared config profile"):
		return &storeError{text: "there are no credentials for the store; " + h.AWS, err: err}
	case strings.Contains(text, "region must be set") || strings.Contains(text, "Invalid region") || strings.Contains(text, "Missing Region"):
		return &storeError{text: "the region of the bucket is unknown; " + h.region(), err: err}
	}

	if request, ok := errors.AsType[*url.Error](err); ok {
		return &storeError{text: fmt.Sprintf("the store is not reachable: %v; correct the endpoint in %s, or check the network", request.Err, h.Setting), err: err}
	}
	return h.explainKind(err)
}

// explainKind explains errors of which only the kind is known: those of directories, Google and Azure. The clients of
// the latter two add the whole answer in further lines.
func (h Hints) explainKind(err error) error {
	var out string

	switch code := gcerrors.Code(err); {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		out = "free space on the volume of the directory in " + h.Setting
	case errors.Is(err, fs.ErrPermission):
		out = "let the user of the process read and write the directory in " + h.Setting
	case code == gcerrors.NotFound:
		out = "create the bucket or the container, or correct its name in " + h.Setting
	case code == gcerrors.PermissionDenied:
		out = "ask the owner of the bucket or the container for the rights to read, write, list and delete objects"
	case code == gcerrors.ResourceExhausted:
		out = "raise the store's limits, or name another store in " + h.Setting
	default:
		return err
	}

	text, _, _ := strings.Cut(err.Error(), "\n")
	return &storeError{text: text + "; " + out, err: err}
}

// IsNotFound reports whether an object does not exist.
func IsNotFound(err error) bool { return gcerrors.Code(err) == gcerrors.NotFound }

// storeError is an error of a store with a text for users.
type storeError struct {
	text string
	err  error
}

func (e *storeError) Error() string { return e.text }

// Unwrap returns the error of the store's client.
func (e *storeError) Unwrap() error { return e.err }
