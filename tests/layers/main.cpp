// The program of each layer in CMakeLists.txt: it is linked, and never run.
int main() {}
