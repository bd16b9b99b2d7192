package web

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDecideURL(t *testing.T) {
	long := strings.Repeat("a", 3000)
	tests := []struct {
		url    string
		action Action
		origin string
		reason string // a part of it
	}{
		{"https://example.com", Allow, "https://example.com", ""},
		{"HTTPS://EXAMPLE.com./a/../b?q=1#f", Allow, "https://example.com", ""},
		{"http://example.com:80/", Allow, "http://example.com", ""},
		{"http://example.com:443/", Allow, "http://example.com:443", ""},
		{"https://example.com:8443/x", Allow, "https://example.com:8443", ""},
		{"https://r3---sn-4g5e6nl7.example.com/", Allow, "https://r3---sn-4g5e6nl7.example.com", ""},
		{"https://_dmarc.example.com/", Allow, "https://_dmarc.example.com", ""},
		{"https://example.com/@user?a=b@c", Allow, "https://example.com", ""},

		{"https://example.com:3000/", Ask, "https://example.com:3000", "unusual port"},
		{"https://example.com/?q=" + long, Ask, "https://example.com", "3002 bytes"},
		{"https://example.com/a/%2e%2E/b", Ask, "https://example.com", "%2e"},
		{"https://93.184.215.14/", Ask, "https://93.184.215.14", "an address"},
		{"https://[2606:4700::1111]/", Ask, "https://[2606:4700::1111]", "an address"},
		{"http://localhost:3000/", Ask, "http://localhost:3000", "this machine"},
		{"http://app.localhost/", Ask, "http://app.localhost", "this machine"},
		{"http://127.0.0.1:9200/", Ask, "http://127.0.0.1:9200", "this machine"},
		{"http://127.8.8.8/", Ask, "http://127.8.8.8", "this machine"},
		{"http://[::1]:8080/", Ask, "http://[::1]:8080", "this machine"},
		{"http://[0:0:0:0:0:0:0:1]/", Ask, "http://[::1]", "this machine"},
		{"http://10.1.2.3/", Ask, "http://10.1.2.3", "private"},
		{"http://192.168.0.1/", Ask, "http://192.168.0.1", "private"},
		{"http://172.31.255.255/", Ask, "http://172.31.255.255", "private"},
		{"http://[fd12::1]/", Ask, "http://[fd12::1]", "private"},
		{"https://bücher.example/", Ask, "https://xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"https://xn--bcher-kva.example/", Ask, "https://xn--bcher-kva.example", "requested as"},
		{"https://gіthub.com/", Ask, "https://xn--gthub-n2e.com", "xn--gthub-n2e.com"},
		{"https://ｅxample.com/", Ask, "https://example.com", "requested as example.com"},

		{"", Deny, "", "empty"},
		{"example.com", Deny, "", "must start"},
		{"//example.com/", Deny, "", "must start"},
		{"http:/example.com", Deny, "", "must start"},
		{"http:example.com", Deny, "", "must start"},
		{"file:///etc/passwd", Deny, "", "must start"},
		{"ftp://example.com/", Deny, "", "must start"},
		{"gopher://example.com/", Deny, "", "must start"},
		{"data:text/html,x://", Deny, "", "must start"},
		{"view-source:https://example.com", Deny, "", "must start"},
		{"https://", Deny, "", "no host"},
		{"https:///path", Deny, "", "no host"},
		{"https://?q", Deny, "", "no host"},
		{"https://:80/", Deny, "", "empty label"},
		{"https://user@example.com/", Deny, "", "credentials"},
		{"https://user:pw@example.com/", Deny, "", "credentials"},
		{"https://example.com@evil.test/", Deny, "", "credentials"},
		{"https://@example.com/", Deny, "", "credentials"},
		{"https://example.com\\@evil.test/", Deny, "", "backslash"},
		{"https:\\\\example.com", Deny, "", "backslash"},
		{" https://example.com", Deny, "", "blank"},
		{"https://example.com/a b", Deny, "", "blank"},
		{"https://example.com/\n", Deny, "", "blank"},
		{"https://example.com/\u3000", Deny, "", "blank"},
		{"https://example.com/\r\nHost: x", Deny, "", "blank"},
		{"https://example.com/\x00", Deny, "", "U+0000"},
		{"https://example.com/\x1b[1m", Deny, "", "U+001B"},
		{"https://example.com/\u200b", Deny, "", "U+200B"},
		{"https://example.com/\u202e", Deny, "", "U+202E"},
		{"https://example.com/\U000e0041", Deny, "", "U+E0041"},
		{"https://exam\u00adple.com/", Deny, "", "U+00AD"},
		{"https://example.com/\xff", Deny, "", "UTF-8"},
		{"https://example.com/" + strings.Repeat("a", maxURL), Deny, "", "longer than 8192"},
		{"https://example.com:/", Deny, "", "port"},
		{"https://example.com:0/", Deny, "", "port"},
		{"https://example.com:65536/", Deny, "", "port"},
		{"https://example.com:080/", Deny, "", "port"},
		{"https://example.com:+80/", Deny, "", ""},
		{"https://example.com:80:80/", Deny, "", ""},
		{"https://%31%32%37.0.0.1/", Deny, "", "percent"},
		{"https://example%2ecom/", Deny, "", "percent"},
		{"http://[fe80::1%25lo]/", Deny, "", "percent"},
		{"http://[::1/", Deny, "", ""},
		{"http://[::1]x/", Deny, "", ""},
		{"http://[127.0.0.1]/", Deny, "", "cannot be read"},
		{"http://::1/", Deny, "", ""},
		{"http://2130706433/", Deny, "", "unusual spelling"},
		{"http://0x7f000001/", Deny, "", "unusual spelling"},
		{"http://0x7f.1/", Deny, "", "unusual spelling"},
		{"http://0177.0.0.1/", Deny, "", "unusual spelling"},
		{"http://017700000001/", Deny, "", "unusual spelling"},
		{"http://127.1/", Deny, "", "unusual spelling"},
		{"http://0/", Deny, "", "unusual spelling"},
		{"http://1.2.3.4.5/", Deny, "", "unusual spelling"},
		{"http://example.0X/", Deny, "", "unusual spelling"},
		{"http://１２７.0.0.1/", Deny, "", "unusual spelling"},
		{"http://①②⑦.⓪.⓪.①/", Deny, "", ""},
		{"http://127。0。0。1/", Deny, "", "unusual spelling"},
		{"https://a..b/", Deny, "", "empty label"},
		{"https://example.com../", Deny, "", "empty label"},
		{"https://exa*mple.com/", Deny, "", ""},
		{"https://" + strings.Repeat("a", 64) + ".com/", Deny, "", "63 bytes"},
		{"https://" + strings.Repeat("a.", 127) + "com/", Deny, "", "253 bytes"},
		{"http://[::ffff:127.0.0.1]/", Deny, "http://[::ffff:127.0.0.1]", "written as IPv6"},
		{"http://[0:0:0:0:0:ffff:7f00:1]/", Deny, "http://[::ffff:127.0.0.1]", "written as IPv6"},
		{"http://[::ffff:8.8.8.8]/", Deny, "http://[::ffff:8.8.8.8]", "written as IPv6"},
		{"http://[::]/", Deny, "http://[::]", "special"},
		{"http://[::7f00:1]/", Deny, "http://[::7f00:1]", "special"},
		{"http://0.0.0.0/", Deny, "http://0.0.0.0", "special"},
		{"http://169.254.169.254/latest/", Deny, "http://169.254.169.254", "metadata"},
		{"http://100.100.100.200/", Deny, "http://100.100.100.200", "metadata"},
		{"http://[fd00:ec2::254]/", Deny, "http://[fd00:ec2::254]", "metadata"},
		{"http://metadata/", Deny, "http://metadata", "metadata"},
		{"http://METADATA.google.internal./", Deny, "http://metadata.google.internal", "metadata"},
		{"http://metadata.goog/", Deny, "http://metadata.goog", "metadata"},
		{"http://instance-data.ec2.internal/", Deny, "http://instance-data.ec2.internal", "metadata"},
		{"https://example.com:22/", Deny, "https://example.com:22", "another protocol"},
		{"https://example.com:6379/", Deny, "https://example.com:6379", "another protocol"},
		{"http://10.0.0.1:5432/", Deny, "http://10.0.0.1:5432", "another protocol"},
		{"http://localhost:22/", Deny, "http://localhost:22", "another protocol"},
		{"http://localhost:11211/", Deny, "http://localhost:11211", "another protocol"},
	}
	for _, test := range tests {
		name := test.url
		if len(name) > 60 {
			name = name[:60]
		}
		t.Run(name, func(t *testing.T) {
			d := DecideURL(test.url)
			assert.Equal(t, test.action, d.Action, d.Reason)
			assert.Equal(t, test.origin, d.Origin)
			assert.Contains(t, d.Reason, test.reason)
			assert.Equal(t, d.Action == Allow, d.Reason == "", "only what is not allowed has a reason")
		})
	}
}

func TestTargetString(t *testing.T) {
	for in, want := range map[string]string{
		"HTTP://Example.COM.:80":             "http://example.com/",
		"https://example.com/a/./b/../c?x#y": "https://example.com/a/c?x",
		"https://example.com/../../x":        "https://example.com/x",
		"https://example.com/%41%2fb":        "https://example.com/%41%2fb",
		"https://example.com/ü?ü=\"":         "https://example.com/%C3%BC?%C3%BC=%22",
		"https://example.com?x=a/../b":       "https://example.com/?x=a/../b",
		"http://[2001:DB8:0::1]:8080/":       "http://[2001:db8::1]:8080/",
	} {
		target, err := Parse(in)
		require.NoError(t, err, in)
		assert.Equal(t, want, target.String())
	}
}

func TestParseErrorsMatchAndHideTheURL(t *testing.T) {
	_, err := Parse("https://user:hunter2@example.com/")
	require.ErrorIs(t, err, ErrURL)
	assert.NotContains(t, err.Error(), "hunter2")
}

func TestFollow(t *testing.T) {
	base, err := Parse("https://example.com/a/b?q")
	require.NoError(t, err)
	for location, want := range map[string]string{
		"c":                     "https://example.com/a/c",
		"/c?d#e":                "https://example.com/c?d",
		"?x":                    "https://example.com/a/b?x",
		"//other.test/p":        "https://other.test/p",
		"http://other.test:81/": "http://other.test:81/",
		"":                      "",
		"///x":                  "",
		"file:///etc/passwd":    "",
		"data:text/plain,x":     "",
		"javascript:alert(1)":   "",
		"http:/x":               "",
		"//user@other.test/":    "",
		"\\\\other.test":        "",
		"/a b":                  "",
		"//127.1/":              "",
	} {
		target, err := base.Follow(location)
		if want == "" {
			assert.ErrorIs(t, err, ErrURL, location)
			continue
		}
		if assert.NoError(t, err, location) {
			assert.Equal(t, want, target.String())
		}
	}
}

func addrs(texts ...string) []netip.Addr {
	out := make([]netip.Addr, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParseAddr(text)
	}
	return out
}

func TestClass(t *testing.T) {
	for class, list := range map[Class][]string{
		Public: {"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0",
			"198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.15", "2606:4700::1111", "2a00::1",
			"2001:200::1", "::ffff:8.8.8.8"},
		Private:  {"10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255", "fc00::", "fdff::1", "::ffff:10.0.0.1"},
		Loopback: {"127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1"},
		Never: {"0.0.0.0", "0.255.255.255", "100.64.0.0", "100.100.100.200", "100.127.255.255", "169.254.0.0",
			"169.254.169.254", "169.254.170.2", "169.254.255.255", "192.0.0.0", "192.0.0.192", "192.0.2.1",
			"192.88.99.1", "198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
			"239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16", "::", "::2", "::7f00:1",
			"64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:1ff::1", "2001:db8::1", "2002:7f00:1::",
			"3fff::1", "5f00::1", "fe80::1", "fe80::1%eth0", "2606:4700::1%eth0", "fec0::1", "ff02::1",
			"fd00:ec2::254", "fd20:ce::254", "4000::1", "::ffff:169.254.169.254", "::ffff:0.0.0.0"},
	} {
		for _, a := range list {
			assert.Equal(t, class, Guard{}.Class(netip.MustParseAddr(a)), a)
		}
	}
	assert.Equal(t, Never, Guard{}.Class(netip.Addr{}))
}

func TestGuardPrivatePrefixes(t *testing.T) {
	g := Guard{Private: prefixes("100.64.0.0/10", "64:ff9b::/96", "169.254.0.0/16")}
	for a, class := range map[string]Class{
		"100.64.1.1": Private, "64:ff9b::808:808": Private,
		"100.100.100.200": Never, "64:ff9b::a9fe:a9fe": Never, "64:ff9b::7f00:1": Never, "169.254.169.254": Never,
	} {
		assert.Equal(t, class, g.Class(netip.MustParseAddr(a)), a)
	}
	assert.Equal(t, Ask, g.DecideURL("http://100.64.1.1/").Action)
}

func TestDecideAddrs(t *testing.T) {
	tests := []struct {
		url    string
		addrs  []string
		action Action
		reason string
	}{
		{"https://example.com/", []string{"1.1.1.1", "2606:4700::1111"}, Allow, ""},
		{"https://example.com/", nil, Deny, "no addresses"},
		{"https://example.com/", []string{"127.0.0.1"}, Deny, "without saying so"},
		{"https://example.com/", []string{"::ffff:127.0.0.1"}, Deny, "without saying so"},
		{"https://example.com/", []string{"1.1.1.1", "127.0.0.1"}, Deny, "different networks"},
		{"https://example.com/", []string{"1.1.1.1", "10.0.0.1"}, Deny, "different networks"},
		{"https://example.com/", []string{"1.1.1.1", "169.254.169.254"}, Deny, "metadata"},
		{"https://example.com/", []string{"0.0.0.0"}, Deny, "special"},
		{"https://wiki.corp/", []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"}, Ask, "10.0.0.1, 10.0.0.2, 10.0.0.3 and 1 more"},
		{"http://localhost/", []string{"127.0.0.1", "::1"}, Ask, "this machine"},
		{"http://localhost/", []string{"1.1.1.1"}, Deny, "another machine"},
		{"http://a.localhost/", []string{"10.0.0.1"}, Deny, "another machine"},
		{"http://127.0.0.1/", []string{"127.0.0.1"}, Ask, "this machine"},
		{"http://10.0.0.1/", []string{"10.0.0.1"}, Ask, "private"},
	}
	for _, test := range tests {
		target, err := Parse(test.url)
		require.NoError(t, err)
		d := Guard{}.DecideAddrs(target, addrs(test.addrs...))
		assert.Equal(t, test.action, d.Action, "%v", test)
		assert.Contains(t, d.Reason, test.reason)
		assert.Equal(t, target.Origin(), d.Origin)
	}
}

func TestZeroValuesDeny(t *testing.T) {
	assert.Equal(t, Deny, Decision{}.Action)
	assert.Equal(t, "deny ask allow", Deny.String()+" "+Ask.String()+" "+Allow.String())
	assert.Equal(t, "never private loopback public", Never.String()+" "+Private.String()+" "+Loopback.String()+" "+Public.String())
}

// FuzzParse holds what every reader of a target relies on: its text parses to
// itself, host and origin agree with it, and nothing invisible is left.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"https://example.com/a?b#c", "http://[::1]:80/%2e%2e/", "http://１２７.0.0.1/", "https://bücher.example:8443/ü",
		"http://a@b", "http://x/..//y", "http://0x7f.1", "https://example.com./", "http://h?%zz", "http://h//a"} {
		f.Add(s, "/x")
	}
	f.Fuzz(func(t *testing.T, text, location string) {
		target, err := Parse(text)
		if err != nil {
			require.ErrorIs(t, err, ErrURL)
			return
		}
		s := target.String()
		require.True(t, strings.HasPrefix(s, target.Origin()+"/"), s)
		require.True(t, isASCII(s), s)
		again, err := Parse(s)
		if len(s) > maxURL {
			return
		}
		require.NoError(t, err, s)
		require.Equal(t, s, again.String())
		require.Equal(t, target.Host, again.Host)
		require.Equal(t, target.Origin(), again.Origin())
		require.Equal(t, target.Addr, again.Addr)
		if next, err := target.Follow(location); err == nil {
			require.True(t, strings.HasPrefix(next.String(), next.Origin()+"/"))
			require.True(t, isASCII(next.String()))
		}
	})
}
