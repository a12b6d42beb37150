package metaindex.spark;

import java.net.InetAddress;
import java.util.concurrent.TimeUnit;
import javax.net.SocketFactory;
import py4j.Gateway;
import py4j.Py4JJavaServer;
import py4j.Py4JPythonClient;
import py4j.PythonClient;

/**
 * Calls of the JVM into its process of Python, which send a secret first, so that other users of the port are not
 * heard. Py4J itself forgets the secret when it is given the port. It differs from that of calls into the JVM: the port
 * may be somebody else's once the process has ended.
 */
public class Callbacks extends PythonClient {
  private static final long IDLE = 30; // seconds after which a connection is closed
  private final String secret;

  Callbacks(Gateway gateway, int port, InetAddress address, Py4JJavaServer server, String secret) {
    super(gateway, null, port, address, IDLE, TimeUnit.SECONDS, SocketFactory.getDefault(), server, true, 0, secret);
    this.secret = secret;
  }

  public Py4JPythonClient copyWith(InetAddress address, int port) {
    return new Callbacks(gateway, port, address, javaServer, secret);
  }
}
