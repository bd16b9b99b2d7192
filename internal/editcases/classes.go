package editcases

// classes make the cases of one class each; nil means try again.
var classes = makeClasses()

func makeClasses() map[string]func(g *gen) *Case {
	out := map[string]func(g *gen) *Case{}
	reg := func(name string, f func(g *gen) *Case) { out[name] = f }
	plainClasses(reg)
	formClasses(reg)
	wordClasses(reg)
	placeClasses(reg)
	return out
}
