/* What people read, by language. */

interface Texts {
  readonly duplicate: string;
  readonly expired: string;
  readonly invalid: string;
  readonly unknown: string;
  /** No token could be had, so nothing was sent. */
  readonly unavailable: string;
  /** The connection broke, and with it the knowledge whether something was done. */
  readonly uncertain: string;
  /** The link to the first submission's result. */
  readonly result: string;
}

const TEXTS: Readonly<Record<string, Texts>> = {
  en: {
    duplicate: "This was sent before, and nothing was done twice. Submit again only to send another one.",
    expired: "The form was open for too long. Nothing was done. Please submit it again.",
    invalid:
      "The form no longer belongs to your session. Nothing was done. Please submit it again, or reload the page.",
    unknown: "The form is no longer known. Check whether it went through; if not, submit it again.",
    unavailable: "The form could not be prepared. Nothing was sent. Check your connection and try again, or reload.",
    uncertain: "The connection broke. Please submit again: it counts only once.",
    result: "See the result",
  },
  de: {
    duplicate: "Das wurde schon gesendet; nichts ist doppelt geschehen. Nur für ein weiteres bitte erneut absenden.",
    expired: "Das Formular war zu lange offen. Nichts ist geschehen. Bitte erneut absenden.",
    invalid:
      "Das Formular gehört nicht mehr zu Ihrer Sitzung. Nichts ist geschehen. Bitte erneut absenden oder neu laden.",
    unknown:
      "Das Formular ist nicht mehr bekannt. Bitte prüfen Sie, ob es angekommen ist; wenn nicht, erneut absenden.",
    unavailable:
      "Es konnte nichts gesendet werden. Bitte prüfen Sie die Verbindung und versuchen Sie es erneut, oder laden Sie neu.",
    uncertain: "Die Verbindung brach ab. Bitte erneut absenden: Es zählt nur einmal.",
    result: "Zum Ergebnis",
  },
  fr: {
    duplicate: "Déjà envoyé ; rien n’a été fait deux fois. Ne renvoyez que pour en envoyer un autre.",
    expired: "Le formulaire est resté ouvert trop longtemps. Rien n’a été fait. Veuillez le renvoyer.",
    invalid:
      "Le formulaire n’appartient plus à votre session. Rien n’a été fait. Veuillez le renvoyer ou recharger la page.",
    unknown: "Le formulaire n’est plus connu. Vérifiez s’il est arrivé ; sinon, renvoyez-le.",
    unavailable: "Rien n’a pu être envoyé. Vérifiez votre connexion et réessayez, ou rechargez la page.",
    uncertain: "La connexion a été interrompue. Veuillez renvoyer : cela ne compte qu’une fois.",
    result: "Voir le résultat",
  },
  es: {
    duplicate: "Ya se envió; nada se hizo dos veces. Vuelva a enviar solo para enviar otro.",
    expired: "El formulario estuvo abierto demasiado tiempo. No se hizo nada. Envíelo de nuevo.",
    invalid: "El formulario ya no pertenece a su sesión. No se hizo nada. Envíelo de nuevo o recargue la página.",
    unknown: "El formulario ya no se conoce. Compruebe si llegó; si no, envíelo de nuevo.",
    unavailable: "No se pudo enviar nada. Compruebe la conexión e inténtelo de nuevo, o recargue la página.",
    uncertain: "Se cortó la conexión. Envíe de nuevo: solo cuenta una vez.",
    result: "Ver el resultado",
  },
};
