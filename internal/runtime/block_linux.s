// This file is empty. It tells the compiler that functions without a body are defined elsewhere.
