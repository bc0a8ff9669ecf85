package flowsim.conform;

/** What a function of the user raised; the message is the name of its class and its text. */
public final class PythonError extends RuntimeException {
    private final long error;

    PythonError(String message, long error) {
        super(message);
        this.error = error;
    }

    /** The number of the error in Python; 0 when it is not kept there. */
    long number() {
        return error;
    }
}
