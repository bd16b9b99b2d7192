package clienttooltest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/clienttooltest"
)

// What a test of a host looks like, in virtual time: a tool that takes long, a link
// that is cut meanwhile, and a call that nobody has to notice it in.
func TestExample(t *testing.T) {
	clienttooltest.Run(t, clienttool.Options{}, func(ctx context.Context, r *clienttooltest.Rig) {
		laptop := r.Client("laptop")
		read := laptop.Tool("read").After(2 * time.Second).Returns("text")
		synctest.Wait()
		call, err := r.Hub.Start(ctx, clienttool.CallRequest{Tool: "client_laptop_read"})
		if err != nil {
			r.T.Fatal(err)
		}
		time.Sleep(time.Second)
		laptop.Cut()
		<-call.Done()
		if res, err := call.Result(); err != nil || res.Output != "text" {
			r.T.Errorf("got %+v, %v", res, err)
		}
		if n := len(read.Calls()); n != 1 {
			r.T.Errorf("the tool ran %d times", n)
		}
	})
}
