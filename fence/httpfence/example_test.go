package httpfence_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/regentproject/regent/fence"
	"github.com/regentproject/regent/fence/httpfence"
)

func Example() {
	var gate fence.Gate
	srv := httptest.NewServer(httpfence.Handler(&gate, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "done under", httpfence.FromContext(r.Context()))
	})))
	defer srv.Close()

	for _, token := range []uint64{7, 8, 7} {
		req, _ := http.NewRequest("POST", srv.URL, nil)
		httpfence.Set(req.Header, fence.Token(token))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Print(resp.StatusCode, " ", string(body))
	}
	// Output:
	// 200 done under 7
	// 200 done under 8
	// 409 {"error":"stale","reason":"fence: stamp 7 is stale: it is of an earlier leadership than 8, which was seen before","got":"7","seen":"8"}
}
