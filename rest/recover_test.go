package rest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fakecluster/fakecluster/rest"
)

func TestAHandlerThatPanicsFailsItsRequestOnly(t *testing.T) {
	serve := func(value any) (response *httptest.ResponseRecorder, passed any) {
		defer func() { passed = recover() }()
		response = httptest.NewRecorder()
		rest.RecoverPanics(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(value) })).
			ServeHTTP(response, httptest.NewRequest("GET", "/", nil))
		return response, nil
	}
	response, passed := serve("a bug")
	expect(t, "answer", []any{response.Code, response.Body.String(), passed},
		[]any{500, "This request caused apiserver to panic. Look in the logs for details.\n", nil})
	_, passed = serve(http.ErrAbortHandler)
	expect(t, "what is passed on", passed == http.ErrAbortHandler, true)
}
