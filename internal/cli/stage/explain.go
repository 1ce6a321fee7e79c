package stage

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// answer is an error response of a store's server. Errors of the AWS SDK implement this interface.
type answer interface {
	error
	ErrorCode() string
	ErrorMessage() string
}

// answerOf returns the server's error response that err wraps, if there is one.
func answerOf(err error) (answer, bool) { return errors.AsType[answer](err) }

// credentialsHint names the places from which the client of S3 reads credentials.
const credentialsHint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"

// regionHint names the places from which the client of S3 reads the region.
const regionHint = "set the region of the bucket with ?region=REGION in the URL of --stage, or with AWS_REGION"

// waysOut maps S3's error codes to advice for the user.
var waysOut = map[string]string{
	"NoSuchBucket":                 "create the bucket, or correct its name in --stage",
	"InvalidBucketName":            "correct the name of the bucket in --stage",
	"PermanentRedirect":            regionHint,
	"AuthorizationHeaderMalformed": regionHint,
	"InvalidAccessKeyId":           credentialsHint,
	"XAdminUserNotFound":           credentialsHint, // of versitygw
	"SignatureDoesNotMatch":        credentialsHint,
	"InvalidToken":                 credentialsHint,
	"ExpiredToken":                 "log in again, or " + credentialsHint,
	"AccessDenied":                 "ask the owner of the bucket for the rights s3:GetObject, s3:PutObject and s3:DeleteObject, or " + credentialsHint,
}

// explained converts an error of a store's client into one line for users: the cause, and what to do about it.
func explained(err error) error {
	if found, ok := answerOf(err); ok {
		text := found.ErrorCode()
		if message := found.ErrorMessage(); message != "" {
			text += ": " + strings.TrimSuffix(message, ".")
		}

		if out := waysOut[found.ErrorCode()]; out != "" {
			text += "; " + out
		}
		return &storeError{text: "the store answers " + text, err: err}
	}

	switch text := err.Error(); {
	case strings.Contains(text, "DefaultAzureCredential: failed to acquire a token"): // followed by a line for each source
		return &storeError{text: "no credentials for Azure; " + azureCredentials, err: err}
	case strings.Contains(text, "get credentials") || strings.Contains(text, "refresh cached credentials") || strings.Contains(text, "shared config profile"):
		return &storeError{text: "there are no credentials for the store; " + credentialsHint, err: err}
	case strings.Contains(text, "region must be set") || strings.Contains(text, "Invalid region") || strings.Contains(text, "Missing Region"):
		return &storeError{text: "the region of the bucket is unknown; " + regionHint, err: err}
	}

	if request, ok := errors.AsType[*url.Error](err); ok {
		return &storeError{text: fmt.Sprintf("the store is not reachable: %v; correct the endpoint in --stage, or check the network", request.Err), err: err}
	}
	return err
}

// storeError is an error of a store with a text for users.
type storeError struct {
	text string
	err  error
}

func (e *storeError) Error() string { return e.text }

// Unwrap returns the error of the store's client.
func (e *storeError) Unwrap() error { return e.err }
