package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
)

// allowed is a transport that allows every admission review, without a change.
type allowed struct{}

// RoundTrip implements http.RoundTripper.
func (allowed) RoundTrip(req *http.Request) (*http.Response, error) {
	defer req.Body.Close()
	var review admissionv1.AdmissionReview // v1beta1 has the same fields
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		return nil, fmt.Errorf("reading the review: %w", err)
	}
	answer, err := json.Marshal(admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}})
	if err != nil {
		return nil, fmt.Errorf("answering the review: %w", err)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(answer)), ContentLength: int64(len(answer)),
	}, nil
}

// CloseIdleConnections does nothing: the transport has no connections.
func (allowed) CloseIdleConnections() {}
